/* SPDX-License-Identifier: Apache-2.0 */
/* TCP sockets with time limits. A deadline is a time of sl_now(). Every wait ends with SLEY_ERR_INTERRUPTED
 * within 50 ms of sley_interrupt(). No function raises SIGPIPE. */
#ifndef SLEY_SOCKET_SOCKET_H
#define SLEY_SOCKET_SOCKET_H

#include "base/status.h"

enum { SL_ADDRESS_BYTES = 256 };

/* Makes a socket that listens at port (0: any free port). local: only on addresses of this host. *out_port
 * receives the port. Errors: SLEY_ERR_IO (errno is the reason). */
sley_status sl_socket_listen(int port, bool local, int *out_port, int *out);

/* Finds the numeric addresses of a host name, at most `most` of them. Errors: SLEY_ERR_ARG (no such host). */
sley_status sl_socket_resolve(const char *name, int most, char out[][SL_ADDRESS_BYTES], int *count);

/* Begins to connect to a numeric address, without waiting: the socket becomes writable once it has connected,
 * or failed (SO_ERROR). Errors: SLEY_ERR_IO (errno; without a message), *out is -1. */
sley_status sl_socket_begin_connect(const char *address, int port, int *out);

/* Accepts a connection that waits at the listener. Errors, without a message: SLEY_ERR_PEER (none waits),
 * SLEY_ERR_MEMORY (no file descriptors or memory for another); SLEY_ERR_IO. */
sley_status sl_socket_accept(int listener, int *out);

/* Transfer all bytes. Errors: SLEY_ERR_PEER (deadline, or the peer has closed; without a message),
 * SLEY_ERR_IO. */
sley_status sl_socket_write(int socket, const void *data, size_t bytes, double deadline);
sley_status sl_socket_read(int socket, void *data, size_t bytes, double deadline);

/* Returns whether the other end has closed the connection and no unread data is left. */
bool sl_socket_has_ended(int socket);

/* The peer's address as text. */
void sl_socket_peer(int socket, char out[SL_ADDRESS_BYTES]);

/* Sets options of a connection: small messages go at once; an idle connection ends when the peer's host is
 * silent for about timeout seconds (keepalive, which the peer's kernel answers). There is no time limit for
 * sent data that the peer does not read (TCP_USER_TIMEOUT): it would also end the connection to a rank that
 * computes, or gets no processor time, and so reads late. The pulse detects ranks that are dead. */
void sl_socket_settle(int socket, double timeout);

#endif
