package config

// applicationData is where applications with a window keep their files.
var applicationData = baseDir{[]string{"APPDATA"}, `AppData\Roaming`}
