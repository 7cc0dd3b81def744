type Policy = { createScriptURL(address: string): string }
const { trustedTypes } = globalThis as {
  trustedTypes?: { createPolicy(name: string, rules: Policy): Policy }
}

/** Whether an address is one of the page's workers. The content security policy allows only this Trusted Types policy. */
const isOwn = (address: string) => address === '/worker.js' || /^\/assets\/highlighter-worker-[\w-]+\.js$/.test(address)
const policy = trustedTypes?.createPolicy('parley-workers', {
  createScriptURL(wanted) {
    if (!isOwn(wanted)) throw new TypeError(`${wanted} is not a worker of this page`)
    return wanted
  },
})

/** Returns the address in the form that `new Worker` and `register` accept. @throws TypeError for an address of no worker of this page. */
export const workerAddress = (address: string): string => (policy ? policy.createScriptURL(address) : address)
