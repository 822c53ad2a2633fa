package config

// applicationData is where applications with a window keep their files.
var applicationData = baseDir{nil, "Library/Application Support"}
