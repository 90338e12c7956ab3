# src/base - primitives; knows nothing of sandboxes. One module a line.
noinst_LIBRARIES += libbase.a
libbase_a_SOURCES =
libbase_a_SOURCES += src/base/auto.h
libbase_a_SOURCES += src/base/buf.c src/base/buf.h
libbase_a_SOURCES += src/base/err.c src/base/err.h
libbase_a_SOURCES += src/base/escape.c src/base/escape.h
libbase_a_SOURCES += src/base/fs.c src/base/fs.h
libbase_a_SOURCES += src/base/fs_remove.c
libbase_a_SOURCES += src/base/io.c src/base/io.h
libbase_a_SOURCES += src/base/json.c src/base/json.h
libbase_a_SOURCES += src/base/json_fields.c
libbase_a_SOURCES += src/base/json_out.c src/base/json_out.h
libbase_a_SOURCES += src/base/loop.c src/base/loop.h
libbase_a_SOURCES += src/base/log.c src/base/log.h
libbase_a_SOURCES += src/base/sha256.c src/base/sha256.h
libbase_a_SOURCES += src/base/str.c src/base/str.h
libbase_a_SOURCES += src/base/utf8.c src/base/utf8.h
