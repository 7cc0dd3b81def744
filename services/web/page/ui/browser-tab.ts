/** Changing the title takes a browser longer than rendering a message, so the title changes at most once in this time. */
const titleEveryMs = 500

let wanted = ''
let timer: ReturnType<typeof setTimeout> | undefined

/** Sets the title of the page: immediately, or a little later if it was changed a moment ago. */
export function showTitle(title: string) {
  wanted = title
  if (timer !== undefined || document.title === wanted) return
  document.title = wanted
  timer = setTimeout(() => {
    timer = undefined
    showTitle(wanted)
  }, titleEveryMs)
}
