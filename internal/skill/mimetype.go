package skill

import (
	"path"
	"strings"
)

// mimeTypes maps the extensions of files that skills usually have to MIME types. The table is the
// same on every system.
var mimeTypes = map[string]string{
	".md": "text/markdown", ".txt": "text/plain", ".csv": "text/csv", ".html": "text/html",
	".css": "text/css", ".xml": "text/xml", ".py": "text/x-python", ".sh": "text/x-shellscript",
	".js": "text/javascript", ".mjs": "text/javascript", ".ts": "text/x-typescript",
	".go": "text/x-go", ".json": "application/json", ".yaml": "application/yaml",
	".yml": "application/yaml", ".toml": "application/toml", ".pdf": "application/pdf",
	".zip": "application/zip", ".wasm": "application/wasm", ".svg": "image/svg+xml",
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif",
	".webp": "image/webp", ".ttf": "font/ttf", ".woff2": "font/woff2",
}

// MIMEType returns the MIME type of a file by its name or URI, or "" if it is unknown.
func MIMEType(name string) string { return mimeTypes[strings.ToLower(path.Ext(name))] }
