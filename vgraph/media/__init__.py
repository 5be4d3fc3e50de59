"""Opens recorded video: facts, pictures and sound by presentation time, cuts, assets, and the files beside a video.

Times are integer milliseconds of media time; 0 is the first picture. PyAV is loaded in `container`, PySceneDetect in
`segments`, pysubs2 in `subtitles`, Pillow in `assets`, each when first used. Errors are MediaError, SidecarError and
UserError.
"""
