//go:build !windows && !darwin

package appfile

// applicationData returns where applications with a window keep their files.
var applicationData = configHome
