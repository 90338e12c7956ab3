# src/http - HTTP/1.1 for whoever answers it: the session's server and the daemon. One module a line.
noinst_LIBRARIES += libhttp.a
libhttp_a_SOURCES =
libhttp_a_SOURCES += src/http/conn.c src/http/conn.h src/http/conn_own.h
libhttp_a_SOURCES += src/http/conn_in.c src/http/conn_out.c
libhttp_a_SOURCES += src/http/http.c src/http/http.h
libhttp_a_SOURCES += src/http/http_query.c
libhttp_a_SOURCES += src/http/multipart.c src/http/multipart.h
