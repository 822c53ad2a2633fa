//go:build !windows

package fs

func underWine() bool { return false }
