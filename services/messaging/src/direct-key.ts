/** The `direct_key` of a conversation. It is unique, so two people have at most one conversation. */
export const directKeyOf = (participants: readonly string[]) => participants.toSorted().join(':')

/** The ids of the people of a conversation, from its `direct_key`. */
export const participantsOf = (directKey: string) => directKey.split(':')
