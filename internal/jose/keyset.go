package jose

import (
	"encoding/json"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonexact"
)

// A KeySet holds the public keys of an issuer. It is immutable and safe for concurrent use.
type KeySet struct{ keys []*Key }

// ParseKeySet parses a set of at most 100 keys and [MaxKeySet] bytes. It ignores keys that it does
// not support and keys for encryption (RFC 7517, section 5), and keys with private members, which
// are compromised. An empty set is not an error.
func ParseKeySet(text []byte) (*KeySet, error) {
	if len(text) > MaxKeySet {
		return nil, malformed("key set", "it has more than %d bytes", MaxKeySet)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := jsonexact.Unmarshal(text, &set); err != nil {
		return nil, malformed("key set", "%v", err)
	}
	switch {
	case set.Keys == nil:
		return nil, malformed("key set", "it has no keys")
	case len(set.Keys) > maxKeys:
		return nil, malformed("key set", "it has %d keys; the limit is %d", len(set.Keys), maxKeys)
	}
	parsed := &KeySet{}
	for _, text := range set.Keys {
		if key, err := ParseKey(text); err == nil {
			parsed.keys = append(parsed.keys, key)
		}
	}
	return parsed, nil
}

// Len returns the number of keys.
func (s *KeySet) Len() int { return len(s.keys) }

// Candidates returns the keys that may have made a signature: those that allow the algorithm and
// have that id, or any id if id is "". It returns at most four, so that a token without a key id
// cannot cause many verifications.
func (s *KeySet) Candidates(id string, alg Algorithm) []*Key {
	var found []*Key
	for _, key := range s.keys {
		if (id == "" || key.ID == id) && slices.Contains(key.algorithms, alg) {
			if found = append(found, key); len(found) == maxTry {
				break
			}
		}
	}
	return found
}
