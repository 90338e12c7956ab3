/* SPDX-License-Identifier: MIT */
#include "base/sha256.h"

#include "unit.h"

static void published_vectors_hold(void **state)
{
	static const struct {
		const char *text, *hex;
	} vectors[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};
	char hex[SHA256_HEX_BYTES];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(vectors); i++) {
		sha256_hex(vectors[i].text, strlen(vectors[i].text), hex);
		assert_string_equal(hex, vectors[i].hex);
	}
}

static void a_million_letters_in_uneven_pieces(void **state)
{
	struct sha256 s;
	char hex[SHA256_HEX_BYTES], piece[999];
	size_t left = 1000000, n = 1;

	(void)state;
	memset(piece, 'a', sizeof(piece));
	sha256_init(&s);
	while (left) {
		n = n * 7 % 998 + 1;
		if (n > left)
			n = left;
		sha256_add(&s, piece, n);
		left -= n;
	}
	sha256_end_hex(&s, hex);
	assert_string_equal(hex,
			    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void every_length_around_a_block_is_padded_right(void **state)
{
	char text[200], whole[SHA256_HEX_BYTES], pieces[SHA256_HEX_BYTES];

	(void)state;
	memset(text, 'x', sizeof(text));
	for (size_t len = 0; len < sizeof(text); len++) {
		struct sha256 s;

		sha256_hex(text, len, whole);
		sha256_init(&s);
		for (size_t i = 0; i < len; i++)
			sha256_add(&s, text + i, 1);
		sha256_end_hex(&s, pieces);
		assert_string_equal(whole, pieces);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_vectors_hold),
		cmocka_unit_test(a_million_letters_in_uneven_pieces),
		cmocka_unit_test(every_length_around_a_block_is_padded_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
