package appfile

// applicationData returns where applications with a window keep their files.
var applicationData = baseDir("Library/Application Support")
