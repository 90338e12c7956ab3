# policy - the policies that ship, into $(datadir)/ohsandbox/policy. One a line.
dist_policy_DATA += policy/default.json
dist_policy_DATA += policy/nested.json
dist_policy_DATA += policy/net.json
dist_policy_DATA += policy/strict.json
