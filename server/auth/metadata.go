package auth

import (
	"net/http"
	"slices"

	"github.com/stdwire/stdwire/internal/jsonexact"
	"github.com/stdwire/stdwire/internal/oauth"
)

// MetadataPaths returns where the metadata is served: between host and path of the resource, and at the root (RFC 9728, section 3.1, and 2026-07-28, Protected Resource Metadata Discovery
// Requirements). They go into a mux, each with the [Resource]:
//
//	for _, path := range resource.Paths() {
//		mux.Handle(path, resource)
//	}
//
// There is one root: of several resources with paths behind one mux, only one can have the last of its own.
func (s *Resource) MetadataPaths() []string { return slices.Clone(s.paths) }

// ServeHTTP implements [http.Handler]. It answers a GET for one of the [Resource.Paths] with the metadata, to everybody and to pages of every origin, as there is nothing in it that is not
// public.
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
		_, _ = w.Write(s.document) // net/http sends no body for HEAD; who is gone needs none
	}
}

// encodeMetadata returns the document (RFC 9728, section 2).
func (s *Resource) encodeMetadata() ([]byte, error) {
	m := oauth.ResourceMetadata{
		Resource: s.o.Resource, AuthorizationServers: s.o.AuthorizationServers, ScopesSupported: s.o.ScopesSupported, BearerMethods: []string{"header"},
		Name: s.o.Name, Documentation: s.o.Documentation,
	}
	if s.dpop != nil {
		m.DPoPSigningAlgs, m.DPoPBoundTokensNeeded = algorithmNames(algorithms), s.dpop.o.Required
	}
	return jsonexact.Marshal(m)
}
