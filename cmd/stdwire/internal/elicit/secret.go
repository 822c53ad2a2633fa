package elicit

import (
	"slices"
	"strings"
	"unicode"
)

// secrets are what must not be asked for in a form (2026-07-28, Elicitation, "Form Mode Security"), in words as spell has them.
var secrets = []string{
	"password", "passwd", "pwd", "passphrase", "pass phrase", "passcode", "pass code", "secret", "api key", "apikey", "access key", "private key", "signing key", "encryption key",
	"ssh key", "token", "access token", "auth token", "credential", "credentials", "card number", "credit card", "debit card", "cvv", "cvc", "security code", "pin", "pin code",
	"otp", "one time code", "verification code", "2fa code", "mfa code", "recovery code", "seed phrase", "recovery phrase", "mnemonic", "authorization header",
}

// harmless are words that, behind a secret's name, make something else of it.
var harmless = []string{
	"name", "id", "label", "type", "kind", "description", "hint", "length", "count", "limit", "policy", "url", "uri", "prefix", "expiry", "expires", "expiration", "lifetime", "ttl", "budget",
	"manager", "reset", "protected", "required", "enabled", "location", "path", "file",
}

// asking are words before a secret's name that make a description ask for it, and warning those that make it say the contrary.
var (
	asking  = []string{"your", "enter", "paste", "type", "provide"}
	warning = []string{"not", "never", "don", "without", "instead", "avoid"}
)

// looksSecret reports whether a field of a form asks for a secret, as far as its names and its description tell.
func looksSecret(name, title, description string) bool {
	for _, secret := range secrets {
		for _, text := range []string{name, title} {
			if words := spell(text); find(words, secret) >= 0 && !slices.Contains(harmless, words[len(words)-1]) {
				return true
			}
		}
		// A description may speak of a secret without asking for it.
		words := spell(description)
		if at := find(words, secret); at >= 0 {
			before, behind := words[:at], words[at+len(strings.Fields(secret)):]
			anyOf := func(list []string) bool {
				return slices.ContainsFunc(before, func(word string) bool { return slices.Contains(list, word) })
			}
			if anyOf(asking) && !anyOf(warning) && (len(behind) == 0 || !slices.Contains(harmless, behind[0])) {
				return true
			}
		}
	}
	return false
}

// spell splits a name or a text into words in lower case: apiKey, api_key, API-Key and "API key" are api, key.
func spell(text string) []string {
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

// find returns where a phrase begins among words; -1 if it is not there.
func find(words []string, phrase string) int {
	wanted := strings.Fields(phrase)
	for i := 0; i+len(wanted) <= len(words); i++ {
		if slices.Equal(words[i:i+len(wanted)], wanted) {
			return i
		}
	}
	return -1
}
