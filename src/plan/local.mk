# src/plan - decide: host facts, policy, plan. One module a line.
noinst_LIBRARIES += libplan.a
libplan_a_SOURCES =
libplan_a_SOURCES += src/plan/host.h
libplan_a_SOURCES += src/plan/plan.h
libplan_a_SOURCES += src/plan/policy.h
