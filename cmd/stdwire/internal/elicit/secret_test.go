package elicit

import (
	"strings"
	"testing"

	"gotest.tools/v3/assert"
)

func TestLooksSecret(t *testing.T) {
	for _, tt := range []struct {
		name, title, description string
		secret                   bool
	}{
		{"password", "", "", true}, {"userPassword", "", "", true}, {"db_passwd", "", "", true},
		{"API-KEY", "", "", true}, {"apiKey", "", "", true}, {"openai_api_key", "", "", true},
		{"token", "", "", true}, {"githubToken", "", "", true}, {"access_token", "", "", true},
		{"client_secret", "", "", true}, {"cardNumber", "", "", true}, {"cvv", "", "", true},
		{"pin", "", "", true}, {"x", "Card number", "", true}, {"x", "PIN code", "", true},
		{"value", "Value", "Your GitHub personal access token", true},
		{"value", "", "Enter the password of the account", true},
		{"value", "", "paste an API key here", true}, {"private_key", "", "", true},
		{"credentials", "", "", true},

		{"name", "Name", "Your full, legal name", false}, {"email", "", "", false},
		{"username", "", "", false}, {"max_tokens", "", "", false}, {"tokens", "Tokens", "", false},
		{"tokenCount", "", "", false}, {"api_key_name", "", "", false},
		{"passwordHint", "", "", false}, {"key", "", "", false}, {"keyboard", "", "", false},
		{"spinner", "", "", false},
		{"integer", "Integer",
			"Your favorite integer (do not give us your phone number, pin, or other sensitive info)",
			false},
		{"when", "", "Your password reset will be sent then", false},
		{"site", "", "Where the password is stored", false},
		{"secretary", "", "Your secretary", false}, {"", "", "", false},
	} {
		assert.Equal(t, looksSecret(tt.name, tt.title, tt.description), tt.secret, "%q %q %q",
			tt.name, tt.title, tt.description)
	}
	for _, secret := range secretNames {
		assert.Assert(t, looksSecret(strings.ReplaceAll(secret, " ", "_"), "", ""), secret)
		assert.Equal(t, strings.Join(splitWords(secret), " "), secret, "it can be found")
	}
}
