// Loaded into a program that ends by itself: tells how much memory it took at most.
process.on('exit', () => process.send?.(process.resourceUsage().maxRSS * 1024))
