package web

import (
	"embed"
	"io/fs"
	"net/http"
	"path"

	"github.com/stdwire/stdwire/cmd/stdwire/internal/web/internal/reply"
)

// page has the source files of the page. They need no build, and fetch nothing from other servers.
//
//go:embed page
var page embed.FS

// contentTypes are the content types of the page's files. The table of the system is not used.
var contentTypes = map[string]string{".html": "text/html; charset=utf-8",
	".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml"}

// servePage serves a file of the page.
func servePage(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		reply.Refuse(w, http.StatusMethodNotAllowed, "the files of the page allow only GET and HEAD")
		return
	}
	name := path.Clean(r.URL.Path)
	if name == "/" {
		name = "/index.html"
	}
	text, err := fs.ReadFile(page, "page"+name)
	if err != nil {
		reply.Refuse(w, http.StatusNotFound, "there is no such page")
		return
	}
	w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
	_, _ = w.Write(text)
}
