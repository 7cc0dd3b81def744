/** The image's health check: `health.ts <url>` prints the answer and ends with 0 when it is 200. Nothing else in the image can ask. */
const reply = await fetch(process.argv[2]!, { signal: AbortSignal.timeout(4_000) })
process.stdout.write(`${await reply.text()}\n`)
if (!reply.ok) process.exitCode = 1
