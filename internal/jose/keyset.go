package jose

import (
	"encoding/json"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonexact"
)

// A KeySet has the public keys of somebody who signs. It does not change, and is safe for concurrent use.
type KeySet struct{ keys []*Key }

// ParseKeySet reads a set of at most 100 keys and [MaxKeySet] bytes. Keys that are of no use here, of other types or for encryption, are left out (RFC 7517, section 5), and so
// is one that has its private half beside it, as it is no secret any more. A set without any key is not an error.
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
		return nil, malformed("key set", "it has %d keys, and may have %d", len(set.Keys), maxKeys)
	}
	parsed := &KeySet{}
	for _, text := range set.Keys {
		if key, err := ParseKey(text); err == nil {
			parsed.keys = append(parsed.keys, key)
		}
	}
	return parsed, nil
}

// Len returns how many keys there are.
func (s *KeySet) Len() int { return len(s.keys) }

// Candidates returns the keys that may have made a signature: those with that name, or all if a token names none, that are good for the algorithm. There are at most four, so
// that nobody has many tried by naming none.
func (s *KeySet) Candidates(id string, alg Algorithm) []*Key {
	var found []*Key
	for _, key := range s.keys {
		if (id == "" || key.ID == id) && slices.Contains(key.may, alg) {
			if found = append(found, key); len(found) == maxTry {
				break
			}
		}
	}
	return found
}
