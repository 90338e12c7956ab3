/* SPDX-License-Identifier: MIT */
/* tree.h - the process that moves files: with the workload's ids, in its group, under its filter, so
 * every check of permission is the kernel's, and memory and disk are charged to the workload.
 *
 * What it reads (an archive, a directory) is foreign; what it could be led to do, the workload can do
 * itself. Even so it follows no link below the directory it was told, so that what a client sends
 * lands where the client said. */
#pragma once

/* The process's whole life: one transfer, asked for over this socket (transfer_wire.h). */
void tree_main(int socket) __attribute__((noreturn));
