type Policy = { createScriptURL(address: string): string }
const { trustedTypes } = globalThis as {
  trustedTypes?: { createPolicy(name: string, rules: { createScriptURL(address: string): string }): Policy }
}

/** The addresses from which the page makes workers. The page's security policy admits no other policy than this. */
const isOwn = (address: string) => address === '/worker.js' || /^\/assets\/highlighter-worker-[\w-]+\.js$/.test(address)
const policy = trustedTypes?.createPolicy('parley-workers', {
  createScriptURL(wanted) {
    if (!isOwn(wanted)) throw new TypeError(`No worker is made from ${wanted}`)
    return wanted
  },
})

/** For `new Worker` and `register`. @throws TypeError for an address that is none of our workers'. */
export const workerAddress = (address: string): string => (policy ? policy.createScriptURL(address) : address)
