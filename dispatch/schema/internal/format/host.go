// Package format checks texts of the formats of JSON Schema Validation, section 7.3.
package format

import (
	"net/netip"
	"strings"
	"unicode/utf8"
)

// IsIPv4 reports whether a text is an IPv4 address.
func IsIPv4(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Is4()
}

// IsIPv6 reports whether a text is an IPv6 address.
func IsIPv6(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Is6() && address.Zone() == ""
}

// IsHostname checks RFC 1123, section 2.1. It does not decode punycode labels.
func IsHostname(text string) bool {
	if text == "" || len(text) > 253 {
		return false
	}
	for label := range strings.SplitSeq(text, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for i := range len(label) {
			if c := label[i]; c != '-' && !isAlphanumeric(c) {
				return false
			}
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// IsEmail checks the grammar of Mailbox of RFC 5321, section 4.1.2.
func IsEmail(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return isMailbox(text, IsHostname)
}

// IsIDNEmail checks the grammar of Mailbox as extended by RFC 6531. Of a domain that is not ASCII,
// it checks only the length, and that it has no space and none of @<>,.
func IsIDNEmail(text string) bool {
	return isMailbox(text, func(domain string) bool {
		ascii := strings.IndexFunc(domain, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
		return IsHostname(domain) || !ascii && len(domain) <= 253 &&
			!strings.ContainsAny(domain, " @<>,")
	})
}

func isMailbox(text string, isDomain func(string) bool) bool {
	at := strings.LastIndexByte(text, '@')
	if at < 1 || at > 64 {
		return false
	}
	local, domain := text[:at], text[at+1:]
	if literal, ok := strings.CutPrefix(domain, "["); ok {
		literal, ok = strings.CutSuffix(literal, "]")
		six, isSix := strings.CutPrefix(literal, "IPv6:")
		if !ok || !(isSix && IsIPv6(six)) && !IsIPv4(literal) {
			return false
		}
	} else if !isDomain(domain) {
		return false
	}
	if quoted, ok := strings.CutPrefix(local, `"`); ok {
		quoted, ok = strings.CutSuffix(quoted, `"`)
		return ok && isQuoted(quoted)
	}
	for atom := range strings.SplitSeq(local, ".") {
		if atom == "" {
			return false
		}
		for i := range len(atom) {
			if c := atom[i]; c < utf8.RuneSelf && !isAlphanumeric(c) &&
				strings.IndexByte("!#$%&'*+-/=?^_`{|}~", c) < 0 {
				return false
			}
		}
	}
	return true
}

// isQuoted checks the text between the quotes of a Quoted-string.
func isQuoted(text string) bool {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			if i++; i == len(text) {
				return false
			}
		case c == '"' || c < ' ' || c == 0x7F:
			return false
		}
	}
	return true
}
