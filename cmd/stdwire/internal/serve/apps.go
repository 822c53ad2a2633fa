package serve

import (
	"slices"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/ops/fs"
	"github.com/stdwire/stdwire/dispatch"
	"github.com/stdwire/stdwire/server"
)

// listURI is the URI of the app of fs.list. Its authority is no ID of a server, so that no server
// behind a gateway can have it.
const listURI = "ui://_stdwire/files.html"

// addApps adds the apps of those built-in operations of the catalog that are separate tools.
func addApps(s *server.Server, catalog *dispatch.Catalog, projection server.Projection) error {
	if projection != server.ToolPerOperation || !slices.ContainsFunc(catalog.Operations(),
		func(op *dispatch.Operation) bool { return op.Name() == "fs.list" }) {
		return nil
	}
	border := true
	return s.AddApp(server.App{URI: listURI, Name: "files", Title: "Files", HTML: fs.ListPage,
		PrefersBorder: &border, Tools: map[string][]string{"fs_list": nil}})
}
