package fs

import _ "embed"

// ListPage is the HTML of an app that shows the result of fs.list as a tree to browse.
//
//go:embed list.html
var ListPage []byte
