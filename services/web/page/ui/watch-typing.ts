/** Returns a function that returns what a person has typed into the field since this call. */
export function watchTyping(field: HTMLInputElement): () => string {
  const { length } = field.value
  return () => field.value.slice(length)
}
