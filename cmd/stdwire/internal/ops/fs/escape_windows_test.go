package fs

// systemEscapes are paths that lead out of a root on Windows only.
var systemEscapes = []string{
	`..\out\file`, `d\..\..\out\file`, `..\in/mine`, `C:\x`, `C:/x`, `C:x`, `c:`, `\x`,
	`\\host\share\x`, `//host/share/x`, `\\?\C:\x`, `\\.\NUL`, `\??\C:\x`, `x:y`,
}
