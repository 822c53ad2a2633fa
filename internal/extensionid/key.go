package extensionid

import (
	"fmt"
	"strings"
)

// CheckMetaKey returns an error unless key is a valid key of _meta: an optional prefix of labels
// separated by dots and followed by a slash, then a name (MCP 2026-07-28, Base Protocol, "_meta").
func CheckMetaKey(key string) error {
	prefix, name, hasPrefix := cutPrefix(key)
	if hasPrefix {
		for label := range strings.SplitSeq(prefix, ".") {
			if label == "" || !isLetter(label[0]) || !isAlnum(label[len(label)-1]) ||
				!consistsOf(label, "-") {
				return fmt.Errorf(
					"the _meta key %.64q has a bad label %.64q: a label starts with a letter, ends with a letter or digit, and has only these and '-'",
					key, label)
			}
		}
	}
	if name != "" &&
		(!isAlnum(name[0]) || !isAlnum(name[len(name)-1]) || !consistsOf(name, "-_.")) {
		return fmt.Errorf(
			"the _meta key %.64q has a bad name %.64q: a name starts and ends with a letter or digit, and has only these, '-', '_' and '.'",
			key, name)
	}
	return nil
}

// checkID returns an error unless id is a valid extension id: a key as for [CheckMetaKey],
// with a prefix (MCP 2026-07-28, Versioning, "Extension Negotiation").
func checkID(id string) error {
	if _, _, ok := cutPrefix(id); !ok {
		return fmt.Errorf("the extension id %.64q has no prefix: write com.example/name", id)
	}
	return CheckMetaKey(id)
}

func cutPrefix(key string) (prefix, name string, ok bool) {
	if i := strings.IndexByte(key, '/'); i >= 0 {
		return key[:i], key[i+1:], true
	}
	return "", key, false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isAlnum(c byte) bool  { return isLetter(c) || '0' <= c && c <= '9' }

// consistsOf reports whether s has only letters, digits and bytes of others.
func consistsOf(s, others string) bool {
	for i := range len(s) {
		if !isAlnum(s[i]) && strings.IndexByte(others, s[i]) < 0 {
			return false
		}
	}
	return true
}
