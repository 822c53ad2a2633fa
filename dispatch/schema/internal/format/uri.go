package format

import (
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	subDelims = "!$&'()*+,;="
	pchar     = subDelims + ":@"
)

// IsURI reports whether a text is a URI, which begins with a scheme.
func IsURI(text string) bool { return isReference(text, true, false) }

// IsURIReference reports whether a text is a URI or a relative reference.
func IsURIReference(text string) bool { return isReference(text, false, false) }

// IsIRI reports whether a text is an IRI, which begins with a scheme.
func IsIRI(text string) bool { return isReference(text, true, true) }

// IsIRIReference reports whether a text is an IRI or a relative reference.
func IsIRIReference(text string) bool { return isReference(text, false, true) }

// isReference checks the grammar of a URI reference (RFC 3986, appendix A) or an IRI reference (RFC
// 3987, section 2.2), which must begin with a scheme if scheme is set.
func isReference(text string, scheme, iri bool) bool {
	rest, fragment, _ := strings.Cut(text, "#")
	rest, query, _ := strings.Cut(rest, "?")
	if !onlyHas(fragment, pchar+"/?", iri) || !queryHas(query, iri) {
		return false
	}
	colon := strings.IndexByte(rest, ':')
	if slash := strings.IndexByte(rest, '/'); colon >= 0 && (slash < 0 || colon < slash) {
		if !isScheme(rest[:colon]) {
			return false
		}
		rest = rest[colon+1:]
	} else if scheme {
		return false
	}
	if authority, ok := strings.CutPrefix(rest, "//"); ok {
		slash := strings.IndexByte(authority+"/", '/')
		if !isAuthority(authority[:slash], iri) {
			return false
		}
		rest = authority[slash:]
	}
	return onlyHas(rest, pchar+"/", iri)
}

func isScheme(text string) bool {
	for i := range len(text) {
		if !isAlphanumeric(text[i]) && (i == 0 || strings.IndexByte("+-.", text[i]) < 0) {
			return false
		}
	}
	return text != "" && (text[0] < '0' || text[0] > '9')
}

func isAuthority(text string, iri bool) bool {
	if at := strings.LastIndexByte(text, '@'); at >= 0 {
		if !onlyHas(text[:at], subDelims+":", iri) {
			return false
		}
		text = text[at+1:]
	}
	host, port := text, ""
	if strings.HasPrefix(text, "[") {
		end := strings.IndexByte(text, ']')
		if end < 0 || !isIPLiteral(text[1:end]) {
			return false
		}
		if host, port = "", text[end+1:]; port != "" && port[0] != ':' {
			return false
		}
	} else if colon := strings.IndexByte(text, ':'); colon >= 0 {
		host, port = text[:colon], text[colon:]
	}
	return onlyHas(host, subDelims, iri) &&
		strings.Trim(strings.TrimPrefix(port, ":"), "0123456789") == ""
}

// isIPLiteral checks the text between brackets: an IPv6 address or IPvFuture.
func isIPLiteral(text string) bool {
	if future, ok := strings.CutPrefix(strings.ToLower(text), "v"); ok {
		version, address, ok := strings.Cut(future, ".")
		return ok && version != "" && strings.Trim(version, "0123456789abcdef") == "" &&
			address != "" &&
			!strings.Contains(address, "%") && onlyHas(address, subDelims+":", false)
	}
	address, err := netip.ParseAddr(text)
	return err == nil && address.Is6() && address.Zone() == ""
}

// onlyHas reports whether text consists of unreserved characters, percent-encoded bytes, characters
// in extra and, in an IRI, characters of ucschar.
func onlyHas(text, extra string, iri bool) bool {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '%':
			if i+2 >= len(text) || !isHex(text[i+1]) || !isHex(text[i+2]) {
				return false
			}
			size = 3
		case r < utf8.RuneSelf:
			if c := byte(r); !isAlphanumeric(c) && strings.IndexByte("-._~", c) < 0 &&
				strings.IndexByte(extra, c) < 0 {
				return false
			}
		case !iri || !isUCS(r):
			return false
		}
		i += size
	}
	return true
}

// queryHas is onlyHas for the characters of a query. In an IRI these include private use
// characters.
func queryHas(text string, iri bool) bool {
	if iri {
		text = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Co, r) {
				return '/'
			}
			return r
		}, text)
	}
	return onlyHas(text, pchar+"/?", iri)
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }

// isUCS reports whether r is in ucschar (RFC 3987): beyond ASCII and no control, private use
// character or noncharacter.
func isUCS(r rune) bool {
	switch {
	case r < 0xA0, r >= 0xE000 && r <= 0xF8FF, r >= 0xFDD0 && r <= 0xFDEF, r >= 0xFFF0 &&
		r <= 0xFFFF, r >= 0xE0000 && r < 0xE1000, r >= 0xF0000:
		return false
	}
	return r&0xFFFE != 0xFFFE
}

// IsURITemplate checks the grammar of RFC 6570, section 2.
func IsURITemplate(text string) bool {
	for text != "" {
		open := strings.IndexByte(text, '{')
		literal := text
		if open >= 0 {
			literal = text[:open]
		}
		if !isTemplateLiteral(literal) {
			return false
		}
		if open < 0 {
			break
		}
		end := strings.IndexByte(text, '}')
		if end < open || !isTemplateExpression(text[open+1:end]) {
			return false
		}
		text = text[end+1:]
	}
	return true
}

func isTemplateLiteral(text string) bool {
	for i, r := range text {
		switch {
		case r == '%':
			if i+2 >= len(text) || !isHex(text[i+1]) || !isHex(text[i+2]) {
				return false
			}
		case r <= ' ', r == 0x7F, r >= utf8.RuneSelf && !isUCS(r) && !unicode.Is(unicode.Co, r),
			strings.ContainsRune("\"<>\\^`{|}", r): // invalid UTF-8 is not in isUCS
			return false
		}
	}
	return true
}

func isTemplateExpression(text string) bool {
	if text != "" && strings.IndexByte("+#./;?&=,!@|", text[0]) >= 0 {
		text = text[1:]
	}
	for variable := range strings.SplitSeq(text, ",") {
		variable, prefix, isPrefix := strings.Cut(variable, ":")
		if isPrefix && (len(prefix) > 4 || prefix == "" || prefix[0] == '0' ||
			strings.Trim(prefix, "0123456789") != "") {
			return false
		}
		if !isPrefix {
			variable = strings.TrimSuffix(variable, "*")
		}
		for part := range strings.SplitSeq(variable, ".") {
			if part == "" || !onlyHas(part, "", false) || strings.ContainsAny(part, "-~") {
				return false
			}
		}
	}
	return true
}
