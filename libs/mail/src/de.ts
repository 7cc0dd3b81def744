import type { MailTexts, NoticeTexts } from './en.ts'

export const german: MailTexts = {
  somebody: 'Jemand',
  unknown: 'unbekannt',
  orOpen: 'Oder öffne diese Adresse:',

  magicLink: (minutes) => ({
    subject: 'Dein Link zum Anmelden',
    opening: 'Melde dich mit diesem Link an:',
    action: 'Anmelden',
    closing: `Er gilt einmal, ${minutes === 1 ? 'eine Minute' : `${minutes} Minuten`} lang. Wenn du ihn nicht angefordert hast, brauchst du nichts zu tun.`,
  }),
  invitation: ({ server, inviter, setsPassword }) => ({
    subject: `Du bist zu ${server} eingeladen`,
    opening: `${inviter} hat dich zu ${server} hinzugefügt. ${setsPassword ? 'Wähle ein Passwort, um dich anzumelden' : 'Melde dich mit diesem Link an'}:`,
    action: setsPassword ? 'Passwort wählen' : 'Anmelden',
    closing: `Der Link gilt einmal, 7 Tage lang.${setsPassword ? '' : ' Später kannst du mit deiner E-Mail-Adresse einen neuen Link anfordern.'}`,
  }),
  reset: (server) => ({
    subject: `Dein Passwort für ${server}`,
    opening: `Jemand, wahrscheinlich du, möchte ein neues Passwort für ${server} wählen:`,
    action: 'Neues Passwort wählen',
    closing:
      'Der Link gilt einmal, eine Stunde lang, und meldet dich überall sonst ab. Wenn du ihn nicht angefordert hast, brauchst du nichts zu tun.',
  }),

  notices: {
    'new device': (server) => ({
      subject: `Neue Anmeldung bei ${server}`,
      sentence: `Jemand hat sich bei deinem Konto auf ${server} von einem Gerät aus angemeldet, das dafür noch nicht benutzt wurde.`,
    }),
    'password changed': (server) => ({
      subject: `Dein Passwort für ${server} wurde geändert`,
      sentence: `Das Passwort deines Kontos auf ${server} wurde geändert.`,
    }),
    'authenticator app added': (server) =>
      factor(server, `Zu deinem Konto auf ${server} wurde eine Authenticator-App hinzugefügt.`),
    'authenticator app removed': (server) =>
      factor(server, `Die Authenticator-App deines Kontos auf ${server} wurde entfernt.`),
    'passkey added': (server) => factor(server, `Zu deinem Konto auf ${server} wurde ein Passkey hinzugefügt.`),
    'passkey removed': (server) => factor(server, `Ein Passkey deines Kontos auf ${server} wurde entfernt.`),
    'recovery code used': (server) =>
      factor(server, `Mit einem Wiederherstellungscode hat sich jemand bei deinem Konto auf ${server} angemeldet.`),
    'second factors removed': (server) =>
      factor(server, `Ein Admin hat alle zweiten Faktoren deines Kontos auf ${server} entfernt.`),
  },
  hello: (userName) => `Hallo ${userName},`,
  origin: ({ time, address, program }) => `Zeit: ${time}\nAdresse: ${address}\nProgramm: ${program}`,
  ifNotYou: (appUrl) =>
    `Wenn du das warst, brauchst du nichts zu tun. Wenn nicht, öffne jetzt ${appUrl}, ändere dein Passwort und beende dort die anderen Sitzungen. Wenn du dich nicht anmelden kannst, frage einen Admin.`,

  missedMessages: {
    subject: (count, server) => `${unread(count)} auf ${server}`,
    greeting: (userName, count, server) =>
      `Hallo ${userName}, du hast ${count === 1 ? 'eine ungelesene Nachricht' : unread(count)} auf ${server}.`,
    wroteToYou: (author) => `${author} hat dir geschrieben`,
    mentioned: ({ author, whom, channel, isThread }) =>
      `${author} hat ${whom ?? 'dich'} in ${isThread ? 'einem Thread von ' : ''}${channel} erwähnt`,
    files: (count) => (count === 1 ? '1 Datei' : `${count} Dateien`),
    more: (count) => `Und ${count} weitere.`,
    reason:
      'Du bekommst diese Mails, wenn Parley nirgends für dich offen ist. Es geht darin um Direktnachrichten und Erwähnungen. In deinen Einstellungen kannst du sie abschalten:',
  },

  pausedSubscription: ({ url, reason }) => ({
    subject: 'Ein Ereignis-Abonnement ist angehalten',
    text:
      `Parley sendet keine Ereignisse mehr an ${url}. Der Grund, auf Englisch: ${reason}.\n\n` +
      'Bitte bringe den Empfänger in Ordnung und setze das Abonnement dann fort. Es bekommt die verpassten Ereignisse, wenn sie noch gespeichert sind.\n',
  }),
}

const unread = (count: number) => `${count} ungelesene Nachrichten`

const factor = (server: string, sentence: string): NoticeTexts => ({
  subject: `Dein zweiter Faktor für ${server}`,
  sentence,
})
