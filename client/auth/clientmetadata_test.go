package auth_test

import (
	"context"
	"encoding/json"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/client/auth"
)

// The document describes the client that has it.
func TestMetadataDocumentMustBeComplete(t *testing.T) {
	const where = "https://app.example/client.json"
	w := newWorld(t)
	w.asm["client_id_metadata_document_supported"] = true
	o := w.options()
	o.MetadataURL = where
	text, err := o.MetadataDocument()
	assert.NilError(t, err)
	var doc map[string]any
	assert.NilError(t, json.Unmarshal(text, &doc))
	assert.DeepEqual(t, doc, map[string]any{
		"client_id": where, "client_name": "test", "redirect_uris": []any{redirect},
		"grant_types":                []any{"authorization_code", "refresh_token"},
		"response_types":             []any{"code"},
		"token_endpoint_auth_method": "none",
	})
	w.client(o).ok()
	q := w.requestsTo("/authorize")[0].URL.Query()
	assert.Equal(t, q.Get("client_id")+" "+q.Get("redirect_uri"), where+" "+redirect)
	assert.Equal(t, w.requestsTo("/token")[0].form.Get("client_id"), where)
	assert.Equal(t, w.count("/register"), 0)

	show := func(context.Context, string) error { return nil }
	for _, tc := range []struct {
		o    auth.Options
		want string
	}{
		{auth.Options{}, "Grant AuthorizationCode"},
		{auth.Options{Grant: auth.ClientCredentials{}, MetadataURL: where},
			"Grant AuthorizationCode"},
		{auth.Options{Grant: auth.AuthorizationCode{OpenBrowser: show}},
			"needs Options.MetadataURL"},
		{auth.Options{Grant: auth.AuthorizationCode{OpenBrowser: show},
			MetadataURL: "http://app.example/client.json"}, "not an https: URL with a path"},
		{auth.Options{Grant: auth.AuthorizationCode{}, MetadataURL: where},
			"set either OpenBrowser or FetchRedirect"},
	} {
		_, err := tc.o.MetadataDocument()
		assert.ErrorContains(t, err, tc.want)
	}
}
