# src/plan - decide: host facts, policy, plan. One module a line.
noinst_LIBRARIES += libplan.a
libplan_a_SOURCES =
libplan_a_SOURCES += src/plan/degraded.c
libplan_a_SOURCES += src/plan/host.h
libplan_a_SOURCES += src/plan/plan.c src/plan/plan.h src/plan/plan_parts.h
libplan_a_SOURCES += src/plan/plan_env.c
libplan_a_SOURCES += src/plan/plan_limits.c
libplan_a_SOURCES += src/plan/plan_mounts.c
libplan_a_SOURCES += src/plan/policy.h
libplan_a_SOURCES += src/plan/refuse.c src/plan/refuse.h
libplan_a_SOURCES += src/plan/request.h
libplan_a_SOURCES += src/plan/resolve.c
libplan_a_SOURCES += src/plan/strv.c src/plan/strv.h
libplan_a_SOURCES += src/plan/toolchain.c src/plan/toolchain.h
