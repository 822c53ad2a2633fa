package auth

import (
	"net/http"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/oauth"
)

// MetadataPaths returns the paths of the metadata document: with the well-known part before the
// resource's path, and at the root (RFC 9728, section 3.1, and 2026-07-28, Protected Resource
// Metadata Discovery Requirements). Register the [Resource] for each:
//
//	for _, path := range resource.MetadataPaths() {
//		mux.Handle(path, resource)
//	}
//
// There is one root: of several resources on one host, only one can have its document there.
func (s *Resource) MetadataPaths() []string { return slices.Clone(s.paths) }

// ServeHTTP implements [http.Handler]. It answers a GET of one of the [Resource.MetadataPaths] with
// the metadata, for every caller and origin, because the document is public.
func (s *Resource) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set("X-Content-Type-Options", "nosniff")
	switch {
	case !slices.Contains(s.paths, r.URL.Path):
		http.Error(w, "there is no metadata here", http.StatusNotFound)
	case r.Method == http.MethodOptions:
		header.Set("Access-Control-Allow-Methods", "GET")
		header.Set("Access-Control-Allow-Headers", "*")
		w.WriteHeader(http.StatusNoContent)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		header.Set("Allow", "GET, HEAD")
		http.Error(w, "want GET", http.StatusMethodNotAllowed)
	default:
		header.Set("Content-Type", "application/json")
		header.Set("Cache-Control", "public, max-age=300")
		_, _ = w.Write(s.document) // net/http sends no body for HEAD
	}
}

// encodeMetadata returns the metadata document (RFC 9728, section 2).
func (s *Resource) encodeMetadata() ([]byte, error) {
	m := oauth.ResourceMetadata{
		Resource: s.o.Resource, AuthorizationServers: s.o.AuthorizationServers,
		ScopesSupported: s.o.ScopesSupported, BearerMethods: []string{"header"},
		Name: oauth.Text(s.o.Name), Documentation: oauth.Text(s.o.Documentation),
	}
	if s.dpop != nil {
		m.DPoPSigningAlgs, m.DPoPBoundTokensNeeded = algorithmNames(algorithms), s.dpop.o.Required
	}
	return jsonexact.Marshal(m)
}
