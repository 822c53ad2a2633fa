//go:build !unix

package target

import "io/fs"

// exposed reports nothing, because permissions do not keep other users out here: see package
// atomicfile.
func exposed(fs.FileInfo) bool { return false }
