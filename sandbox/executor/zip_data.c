/* SPDX-License-Identifier: MIT */
/* zip_data.c - see zip.h. The only file that knows zlib and libdeflate: the first unpacks a stream
 * in pieces, which the second cannot; its checksum is several times as fast. */
#include <libdeflate.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

#include "sandbox/executor/zip.h"

struct zip_inflate {
	z_stream stream;
};

uint32_t zip_crc(uint32_t crc, const void *bytes, size_t len)
{
	return libdeflate_crc32(crc, bytes, len);
}

struct zip_inflate *zip_inflate_new(void)
{
	struct zip_inflate *z = calloc(1, sizeof(*z));

	/* A negative window: archives have neither zlib's head nor its checksum. */
	if (z && inflateInit2(&z->stream, -MAX_WBITS) != Z_OK) {
		free(z);
		return NULL;
	}
	return z;
}

void zip_inflate_free(struct zip_inflate *z)
{
	if (z)
		(void)inflateEnd(&z->stream);
	free(z);
}

void zip_inflate_restart(struct zip_inflate *z)
{
	(void)inflateReset(&z->stream); /* fails for a stream that was never begun alone */
}

int zip_inflate(struct zip_inflate *z, const void *packed, size_t *packed_len, void *out,
		size_t *out_len)
{
	uInt in = *packed_len > INT_MAX ? INT_MAX : (uInt)*packed_len;
	uInt room = *out_len > INT_MAX ? INT_MAX : (uInt)*out_len;
	int ret;

	z->stream.next_in = (Bytef *)(uintptr_t)packed;
	z->stream.avail_in = in;
	z->stream.next_out = out;
	z->stream.avail_out = room;
	ret = inflate(&z->stream, Z_NO_FLUSH);
	*packed_len = in - z->stream.avail_in;
	*out_len = room - z->stream.avail_out;
	if (ret == Z_STREAM_END)
		return 1;
	if (ret == Z_OK || ret == Z_BUF_ERROR)
		return 0;
	return ret == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
}
