package scan

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"

	"github.com/stdwire/stdwire/internal/lazyregexp"
	"github.com/stdwire/stdwire/internal/printable"
)

const minReadable = 24 // bytes of decoded text; less may be chance

var (
	blob    = lazyregexp.New(`[A-Za-z0-9+/_-]{40,}={0,2}`)
	hexBlob = lazyregexp.New(`^[0-9A-Fa-f]+$`)
)

// encodedText finds text in an encoding that models can read and people cannot.
func encodedText(sc *scanner, d *definition, t *text) (f Finding, found bool) {
	for _, m := range blob().FindAllStringIndex(t.plain, -1) {
		decoded := decode(t.plain[m[0]:m[1]])
		if decoded == "" {
			continue
		}
		severity := Medium
		inner := text{s: decoded}
		inner.read()
		switch {
		case isInjection(sc, d, &inner):
			severity = Critical
		case strings.HasSuffix(strings.ToLower(t.plain[max(0, m[0]-40):m[0]]), ";base64,"):
			// such as an icon
			continue
		case strings.Count(strings.TrimSpace(decoded), " ") >= 3 && decoded[0] != '{' &&
			decoded[0] != '<':
			severity = High
		case decoded[0] == '{': // such as the example of a token
			severity = Low
		}
		if !found || severity > f.Severity {
			f, found = Finding{Severity: severity,
				What: fmt.Sprintf("there is encoded text, which says %q",
					printable.TruncateBytes(decoded, 300)),
				Evidence: excerpt(t.plain, m[0], min(m[1], m[0]+60))}, true
		}
	}
	return f, found
}

// isInjection reports whether a rule for instructions matches a text.
func isInjection(sc *scanner, d *definition, t *text) bool {
	for _, patterns := range []func() []pattern{overrideInstructions, concealFromUser,
		instructionTags, toolPrecedence, asksForContext, asksForSecrets, sendsDataOut} {
		if f, found := matches(patterns, false)(sc, d, t); found && f.Severity >= Medium {
			return true
		}
	}
	return false
}

// decode decodes base64 or hexadecimal text, and returns "" if the result is not text.
func decode(s string) string {
	var candidates [][]byte
	if hexBlob().MatchString(s) {
		if text, err := hex.DecodeString(s[:len(s)/2*2]); err == nil {
			candidates = append(candidates, text)
		}
	}
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	// at most three digits are cut off
	if text, err := base64.RawStdEncoding.DecodeString(s[:len(s)/4*4]); err == nil {
		candidates = append(candidates, text)
	}
	for _, text := range candidates {
		letters := strings.IndexFunc(string(text), unicode.IsLetter) >= 0
		if len(text) >= minReadable && letters && isReadable(string(text)) &&
			strings.ToValidUTF8(string(text), "") == string(text) {
			return strings.TrimSpace(string(text))
		}
	}
	return ""
}
