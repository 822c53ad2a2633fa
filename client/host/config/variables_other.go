//go:build !windows

package config

// setVariable sets a variable.
func setVariable(env map[string]string, name, value string) { env[name] = value }
