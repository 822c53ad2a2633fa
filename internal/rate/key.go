package rate

import "crypto/sha256"

// maxPart is the length of the longest part of a key that is a part as it is.
const maxPart = 128

// hashed begins a part of which the key has the SHA-256 digest. No length is so large.
const hashed = 0xff

// AppendPart appends a part to a key. Keys of different parts differ, whatever the parts contain,
// and a part takes at most 1 + maxPart bytes.
func AppendPart(key []byte, part string) []byte {
	if len(part) > maxPart {
		digest := sha256.Sum256([]byte(part))
		return append(append(key, hashed), digest[:]...)
	}
	return append(append(key, byte(len(part))), part...)
}
