const pages =
  /^\/($|sign-in$|reset$|c\/.*[^/]$|search$|threads$|mentions$|saved$|preferences$|profile$|security$|sessions$|tokens$|admin\/(people|groups|bots|webhooks|subscriptions|commands|sign-in|scim|settings|audit|export)$)/
const files = /^\/(assets\/|icons\/|icon\.svg$|manifest\.webmanifest$)/

/** Whether the web client has a view at this address, so that the response is the page. */
export const isPageAddress = (pathname: string) => pages.test(pathname)

/** Whether the web client has a file at this address. All other addresses belong to the API. */
export const isPageFile = (pathname: string) => files.test(pathname)
