/** The image's health check: `health.ts <url>` prints the response and exits with 0 when its status is 200. The image has no curl. */
const reply = await fetch(process.argv[2]!, { signal: AbortSignal.timeout(4_000) })
process.stdout.write(`${await reply.text()}\n`)
if (!reply.ok) process.exitCode = 1
