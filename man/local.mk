# man - mdoc pages, checked by `make lint`. One a line.
dist_man_MANS += man/ohsandbox.1
dist_man_MANS += man/ohsandbox-policy.5
dist_man_MANS += man/ohsandbox-executor.8
dist_man_MANS += man/ohsandbox-sudo.8
dist_man_MANS += man/ohsandbox-serve.5
dist_man_MANS += man/ohsandbox-serve.8
