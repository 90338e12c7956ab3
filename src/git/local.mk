# src/git - ohsandbox-git, the one program that links libgit2. All but main.c go into the library.
noinst_LIBRARIES += libgithelper.a
libgithelper_a_SOURCES =

# The program: uncomment when main.c is there.
#pkglibexec_PROGRAMS += ohsandbox-git
#ohsandbox_git_SOURCES = src/git/main.c
#ohsandbox_git_LDFLAGS = $(AM_LDFLAGS) $(DYNAMIC_LINK)
#ohsandbox_git_LDADD = libgithelper.a libsession.a libplan.a libinside.a libctl.a libbase.a $(GIT2_LIBS) $(HOST_LIBS)
