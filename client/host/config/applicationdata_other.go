//go:build !windows && !darwin

package config

// applicationData is where applications with a window keep their files.
var applicationData = configHome
