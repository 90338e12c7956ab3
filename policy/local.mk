# policy - the policies that ship, into $(datadir)/ohsandbox/policy. One a line.
#dist_policy_DATA += policy/default.json
