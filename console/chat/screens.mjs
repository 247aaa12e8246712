// The screens of this folder and their entries in the navigation.
export const chat_screens = [];
export const chat_navigation = [];
