package api

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"gotest.tools/v3/assert"

	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/internal/jsonscan"
)

// Whatever is sent, it is read as encoding/json would, or refused where that is lenient; and the
// answer is an envelope with the status of its code.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"action":"echo","params":{"x":1}}`,
		`{"action":"echo","params":null,"confirm":true}`, ` {"session":"a","instance":"b"} `,
		`{"action":"a","action":"b"}`,
		`{"p\u0061rams":{}}`, `{"params":{`, `[]`, "\xff", `{"confirm":1}`, `{"Action":"echo"}`,
		`{"action":"\u0065cho","params":{"a":{"a":{}}}}`,
	} {
		f.Add([]byte(seed))
	}
	catalog := dispatch.NewCatalog()
	dispatch.Add(catalog, dispatch.Spec{Name: "s.echo", Summary: "Echo.", Type: dispatch.Read},
		func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
			return in, nil
		})
	handler := Options{}.New(dispatch.Options{Logger: slog.New(slog.DiscardHandler)}.New(catalog))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, refused := parse(text)
		if refused == nil {
			var same struct {
				Action, Instance, Session string
				Params                    json.RawMessage
				Confirm                   bool
			}
			d := json.NewDecoder(bytes.NewReader(text))
			d.DisallowUnknownFields()
			assert.NilError(t, d.Decode(&same))
			assert.Equal(t, b.action, same.Action)
			assert.Equal(t, b.instance, same.Instance)
			assert.Equal(t, b.session, same.Session)
			assert.Equal(t, string(b.params), string(same.Params))
			assert.Equal(t, b.confirm, same.Confirm)
		} else {
			assert.ErrorIs(t, refused, dispatch.InvalidInput)
		}
		r := httptest.NewRequest(http.MethodPost, "/v1/s", io.NopCloser(bytes.NewReader(text)))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		assert.NilError(t, jsonscan.Valid(w.Body.Bytes()), "%s", w.Body)
		assert.Equal(t, w.Code == http.StatusOK,
			bytes.HasPrefix(w.Body.Bytes(), []byte(`{"success":true,`)))
		assert.Assert(t, w.Code == http.StatusOK || w.Code == http.StatusBadRequest ||
			w.Code == http.StatusNotFound, "%d %s", w.Code, w.Body)
		assert.Assert(t, refused == nil || w.Code == http.StatusBadRequest, "%d %s", w.Code, w.Body)
	})
}
