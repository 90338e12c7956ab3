# src/git - ohsandbox-git, the one program that links libgit2. All but main.c go into the library.
noinst_LIBRARIES += libgithelper.a
libgithelper_a_SOURCES =
libgithelper_a_SOURCES += src/git/answer.c src/git/answer.h
libgithelper_a_SOURCES += src/git/base.c src/git/command.h
libgithelper_a_SOURCES += src/git/batch.c src/git/batch.h
libgithelper_a_SOURCES += src/git/cached.c src/git/cached.h
libgithelper_a_SOURCES += src/git/checkout.c src/git/checkout.h
libgithelper_a_SOURCES += src/git/dirty.c
libgithelper_a_SOURCES += src/git/distance.c
libgithelper_a_SOURCES += src/git/gitlib.c src/git/gitlib.h
libgithelper_a_SOURCES += src/git/index.c src/git/index.h src/git/index_format.h
libgithelper_a_SOURCES += src/git/index_in.c
libgithelper_a_SOURCES += src/git/layer.c src/git/layer.h
libgithelper_a_SOURCES += src/git/layer_config.c
libgithelper_a_SOURCES += src/git/objects.c src/git/objects.h
libgithelper_a_SOURCES += src/git/pack.c src/git/pack.h
libgithelper_a_SOURCES += src/git/patch.c
libgithelper_a_SOURCES += src/git/plumbing.c src/git/plumbing.h
libgithelper_a_SOURCES += src/git/reflist.c src/git/reflist.h
libgithelper_a_SOURCES += src/git/register.c src/git/register.h
libgithelper_a_SOURCES += src/git/resolve.c
libgithelper_a_SOURCES += src/git/tree.c src/git/tree.h

pkglibexec_PROGRAMS += ohsandbox-git
ohsandbox_git_SOURCES = src/git/main.c
ohsandbox_git_LDFLAGS = $(AM_LDFLAGS) $(DYNAMIC_LINK)
ohsandbox_git_LDADD = libgithelper.a libsession.a libplan.a libinside.a libctl.a libbase.a $(GIT2_LIBS) $(HOST_LIBS)
