//go:build !unix

package socket

import "io/fs"

// Files have no owner and mode here; the system protects the directories of a user otherwise.
func isOwn(fs.FileInfo) bool     { return true }
func isPrivate(fs.FileInfo) bool { return true }
