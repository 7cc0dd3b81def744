const pages =
  /^\/($|sign-in$|reset$|c\/|search$|preferences$|profile$|security$|sessions$|tokens$|admin\/(people|groups|bots|webhooks|subscriptions|commands|sign-in|scim|settings|audit|export)$)/
const files = /^\/(assets\/|icons\/|icon\.svg$|manifest\.webmanifest$)/

/** Whether the web client shows something at this address, so that its one page answers it. */
export const isPageAddress = (pathname: string) => pages.test(pathname)

/** Whether the web client has a file at this address. Everything else is the API's. */
export const isPageFile = (pathname: string) => files.test(pathname)
