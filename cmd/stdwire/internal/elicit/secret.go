package elicit

import (
	"slices"
	"strings"
	"unicode"
)

// secretNames are the names of secrets that a form must not ask for (2026-07-28, Elicitation, "Form
// Mode Security"), as the words that splitWords returns.
var secretNames = []string{
	"password", "passwd", "pwd", "passphrase", "pass phrase", "passcode", "pass code", "secret",
	"api key", "apikey", "access key", "private key", "signing key", "encryption key",
	"ssh key", "token", "access token", "auth token", "credential", "credentials", "card number",
	"credit card", "debit card", "cvv", "cvc", "security code", "pin", "pin code",
	"otp", "one time code", "verification code", "2fa code", "mfa code", "recovery code",
	"seed phrase", "recovery phrase", "mnemonic", "authorization header",
}

// harmlessSuffixes are words that, after the name of a secret, name something else.
var harmlessSuffixes = []string{
	"name", "id", "label", "type", "kind", "description", "hint", "length", "count", "limit",
	"policy", "url", "uri", "prefix", "expiry", "expires", "expiration", "lifetime", "ttl",
	"budget",
	"manager", "reset", "protected", "required", "enabled", "location", "path", "file",
}

// asking are words that, before the name of a secret, make a description ask for it; warning are
// words that make it advise against entering it.
var (
	asking  = []string{"your", "enter", "paste", "type", "provide"}
	warning = []string{"not", "never", "don", "without", "instead", "avoid"}
)

// looksSecret reports whether a field asks for a secret, judged by its names and description.
func looksSecret(name, title, description string) bool {
	for _, secret := range secretNames {
		for _, text := range []string{name, title} {
			if words := splitWords(text); findPhrase(words, secret) >= 0 &&
				!slices.Contains(harmlessSuffixes, words[len(words)-1]) {
				return true
			}
		}
		// A description may mention a secret without asking for it.
		words := splitWords(description)
		if at := findPhrase(words, secret); at >= 0 {
			before, after := words[:at], words[at+len(strings.Fields(secret)):]
			anyOf := func(list []string) bool {
				return slices.ContainsFunc(before,
					func(word string) bool { return slices.Contains(list, word) })
			}
			if anyOf(asking) && !anyOf(warning) &&
				(len(after) == 0 || !slices.Contains(harmlessSuffixes, after[0])) {
				return true
			}
		}
	}
	return false
}

// splitWords splits a name or text into words in lower case: apiKey, api_key, API-Key and "API key"
// are api, key.
func splitWords(text string) []string {
	var b strings.Builder
	var last rune
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = ' '
		case unicode.IsUpper(r) && unicode.IsLower(last):
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
		last = r
	}
	return strings.Fields(b.String())
}

// findPhrase returns the index of a phrase in words, or -1.
func findPhrase(words []string, phrase string) int {
	wanted := strings.Fields(phrase)
	for i := 0; i+len(wanted) <= len(words); i++ {
		if slices.Equal(words[i:i+len(wanted)], wanted) {
			return i
		}
	}
	return -1
}
